"""The ways in: each source yields what it declares, place by place, and says how it fares."""
