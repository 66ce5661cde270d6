"""The course as a tool of a learning platform: LTI 1.3 with Advantage's roster and grade services.

    python -m grading lms register ...     what the platform and this tool must know of each other
    python -m grading lms serve            the web pages a platform opens
    python -m grading lms publish ...      send an assignment's scores from the command line

The protocol is PyLTI1p3's (in its maintained fork, pylti1p3next); what it leaves to its caller is
here: where states and nonces are kept, who may see what, and an outbox of the scores to send.
"""
