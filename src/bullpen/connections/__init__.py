"""Connections: where models are asked, with which key, and what they cost.

An agent's model may name one, as `{connection: ID, name}`. What that comes to is looked up for every question.
"""
