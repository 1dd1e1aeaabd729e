"""Help of tab 2, and the keys below it."""

from typing import Final

KEYS: Final = "Tab, then a digit, picks a panel · PgUp and PgDn scroll"
HELP: Final = (
    "Type what happens and press Enter: one character answers. The next panel shows then; any other can "
    "be picked. A prompt that is sent while a reply is written waits its turn and can be taken back.\n\n"
    "The dashed line in the transcript shows how far structured memory has come. The figure below counts "
    "the characters that are shown: the newest 60,000. The chapter itself may be longer, and nothing of "
    "it is lost.\n\n"
    "The newest reply can be written again (F9) as often as you like: every take stays, and Left and "
    "Right in an empty panel choose the one that counts. Ctrl+O takes the newest prompt back, again and "
    "again if need be, with its text in its panel to edit and send; Redo (Alt+O) is offered until you send. "
    "The palette (Ctrl+P) also has another model for one take, a correction by hand, and a branch.\n\n"
    "Everyone hears everything, until you choose with Ctrl+L who hears a prompt, or who is in the scene "
    "from now on. F12 shows the story as one character sees it, then the next; Esc shows everything "
    "again. Alt+S lets several characters answer one prompt, in turn. Alt+D rolls dice. In the palette: "
    "a line without a prompt, a secret to reveal, what a character is given next, who is away for a "
    "while, and who may act without words or say nothing; W on the transcript shows you why.\n\n"
    "With the cursor in the transcript (Shift+Tab, then V), K has a line always sent to those who "
    "witnessed it, then never to any model, then as usual. New scene, in the palette, lets recent context "
    "begin afresh."
)
