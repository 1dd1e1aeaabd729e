"""The queue view: requests that wait, run or have failed, and the commands on them (design 17)."""
