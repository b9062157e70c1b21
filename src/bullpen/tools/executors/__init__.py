"""How a kind of tool is carried out, a module for each kind. The door around them all is tools/execute.py."""
