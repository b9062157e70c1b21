"""Webhooks: addresses of people that are told when they are mentioned, or when a call waits that they may answer."""
