"""client-go for Python: caches, queues, clients, events, leader election, generators, and a server to test on."""
