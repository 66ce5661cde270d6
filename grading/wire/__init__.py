"""What passes between two processes: messages, values, tensors and their memory."""
