"""What several tiers of tests share: real processes, certificates, and a control plane that gets it wrong."""
