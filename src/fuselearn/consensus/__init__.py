"""What the labels and the views agree on."""
