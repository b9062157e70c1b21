"""Hooks: secret addresses by which somebody outside wakes one agent. Who is told of what goes out is `webhooks`."""
