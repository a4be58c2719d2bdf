"""The observer `prometheus`: the values of instant queries, over HTTP."""
