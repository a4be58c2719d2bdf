"""Leadership: which one of all replicas may write, agreed by a Lease (`coordination.k8s.io/v1`)."""
