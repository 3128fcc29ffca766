"""Rules of workloads: controllers of replicas, jobs, cron jobs, autoscalers, disruption budgets."""
