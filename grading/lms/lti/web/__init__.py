"""The pages of the LTI tool."""
