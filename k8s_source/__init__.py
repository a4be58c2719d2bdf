"""The Kubernetes way in: watches objects and hands them to the same pipeline as the files source."""
