"""What the actions in plugins/ have in common."""
