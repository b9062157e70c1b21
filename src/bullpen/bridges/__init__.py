"""Bridges: spaces whose other end is a chat elsewhere. What comes in, what goes out, and the port they implement."""
