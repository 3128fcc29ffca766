"""Cluster with simulated pods: controllers of workloads, scheduler, kubelets, nodes, endpoints and budgets."""
