"""What `fair.py` is made of: the data and the peers."""
