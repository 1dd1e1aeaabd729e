"""Subjects of made-up facts: each concept with a description that shares no word with it.

A fact names the concept, a question describes it. So a question is found by meaning, or not at all.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that a fact names, and how a question speaks about it."""

    name: str
    described: str


def _concepts(table: str) -> tuple[Concept, ...]:
    lines = (line.split("|") for line in table.strip().splitlines())
    return tuple(Concept(name.strip(), described.strip()) for name, described in lines)


TRADES: Final = _concepts("""
ferryman | who rows people across the water
blacksmith | who hammers hot iron into tools
baker | who makes bread before dawn
midwife | who helps babies into the world
beekeeper | who looks after hives and honey
gravedigger | who buries the dead
cartographer | who draws maps
clockmaker | who repairs watches
fishmonger | who sells herring and cod
innkeeper | who rents rooms to travellers
butcher | who cuts meat
weaver | who works at a loom
librarian | who takes care of books
locksmith | who can open any door without breaking it
apothecary | who mixes medicines
shepherd | who tends sheep
glassblower | who shapes bottles with breath and fire
falconer | who trains birds of prey
tax collector | who takes money for the crown
hangman | who carries out executions
tailor | who sews coats
brewer | who makes beer
miller | who grinds grain into flour
cooper | who builds barrels
scribe | who writes letters for others
jailer | who guards prisoners
gardener | who grows roses
tanner | who turns hides into leather
astronomer | who watches the stars
dentist | who pulls teeth
judge | who decides trials
gambler | who lives by cards and dice
puppeteer | who performs with dolls on strings
organist | who plays music in the church
smuggler | who brings goods past the customs
diver | who goes underwater for pearls
carpenter | who builds furniture from wood
postman | who delivers mail
chimney sweep | who cleans soot from flues
cheesemaker | who turns milk into something to eat with wine
""")
PLACES: Final = _concepts("""
the harbour | where the ships dock
the old mill | where the wheel turns in the stream
the cathedral | where the bishop preaches
the quarry | where stone is cut out of the hill
the orphanage | where children without parents live
the lighthouse | where a lamp warns sailors
the graveyard | where the tombs are
the market square | where traders put up their stalls
the asylum | where the mad are kept
the barracks | where the soldiers sleep
the vineyard | where grapes grow
the monastery | where the monks pray
the salt mine | where workers dig white crystals underground
the hospital | where the sick lie in beds
the palace | where the king has his throne
the observatory | where the big telescope is
the swamp | where the ground is wet and full of reeds
the theatre | where actors go on stage
the prison | where thieves sit behind bars
the school | where pupils learn to read
the bridge | where the road goes over the river
the forest | where the oaks are thick
the bathhouse | where people wash in warm pools
the gallows hill | where criminals were hanged
the toll gate | where carts must pay
the shipyard | where hulls are built
the bakery | where loaves come out of the oven
the stables | where the horses are fed
the town hall | where the mayor governs
the cave | where bats hang in the dark
the glacier | where the ice never melts
the desert camp | where tents are pitched in the sand
the waterfall | where the stream plunges down the rocks
the tavern | where men drink in the evening
the railway station | where trains stop
the archive | where old papers are filed
the castle ruins | where only broken walls of a fortress are left
the island | where land is surrounded by sea
the crossroads | where two ways meet
the attic | where junk gathers dust under the roof
""")
THINGS: Final = _concepts("""
violin | instrument with a bow
dagger | short blade
crown | royal headgear
lantern | portable light
compass | device that points north
mirror | glass for looking at oneself
umbrella | cover against rain
ring | jewel for a finger
whistle | thing one blows to make a shrill sound
telescope | tube for seeing far away
chessboard | squares for a game of kings and pawns
flute | woodwind
saddle | seat for riding
drum | percussion
candlestick | holder for wax lights
anchor | weight that holds a boat
goblet | drinking vessel
necklace | jewellery worn around the throat
map | drawing of the land
rope | long cord for climbing
pistol | small firearm
pipe | thing for smoking tobacco
coin | piece of money
diary | private journal
doll | toy that looks like a baby
hourglass | timer filled with sand
bell | thing that rings
mask | disguise for the face
shield | protection for a warrior's arm
feather quill | pen from a bird
teapot | pot for a hot brew
spectacles | lenses for bad eyes
carpet | woven floor covering
shovel | tool for digging
basket | woven container
harp | tall frame with plucked strings
""")
LOOKS: Final = _concepts("""
cracked | damaged
gilded | golden
tiny | very small
rusty | corroded
blue | sky-coloured
stolen | taken by thieves
wooden | made from timber
silver | shiny grey
poisoned | deadly to touch
ancient | very old
burnt | scorched
wet | soaked
bloody | red with gore
huge | enormous
""")
DEEDS: Final = _concepts("""
feed the wolves | giving food to wild dogs
marry the widow | a wedding with a woman whose husband had died
pay back the loan | returning borrowed money
burn the letters | setting the correspondence on fire
teach the boy to swim | lessons for a lad in the water
rebuild the roof | making the top of the house whole again
leave town by spring | going away before the flowers bloom
forgive the traitor | pardoning someone disloyal
stop drinking | giving up alcohol
carve a statue of the saint | making a holy figure out of stone
sail to the southern islands | a voyage to warm lands
free the prisoners | letting captives out
hide the refugees | sheltering people on the run
kill the dragon | slaying a monster
plant a hundred trees | putting many saplings into the soil
sing at the funeral | music for a burial
sell the farm | giving up fields and barns for money
find the missing daughter | searching for a lost girl
adopt the twins | becoming the parent of two siblings
tell the truth to the queen | being honest with her majesty
guard the tunnel | watching an underground passage
cure the fever | healing a hot illness
poison the well | making drinking water deadly
betray the captain | turning against the ship's commander
forge the will | faking a last testament
bribe the guards | paying watchmen to look away
drown the kittens | killing baby cats
open the sealed vault | breaking into a closed treasure room
dig up the coffin | taking a corpse out of the earth
sabotage the engine | secretly damaging a machine
""")
STATES: Final = _concepts("""
burned down | flames
flooded | too much water
sold to strangers | a new owner
haunted | ghosts
closed by order of the duke | a nobleman's command to shut
overrun with rats | rodents everywhere
painted bright yellow | a fresh colour
struck by lightning | a storm
buried under snow | deep winter weather
occupied by the enemy | hostile troops
blessed by the pope | a holy man's favour
infected with plague | a disease
shaken by an earthquake | trembling ground
robbed of its treasure | burglars
covered in ivy | climbing plants
split in two by a wall | a barrier through the middle
""")
FIRST: Final = ("Al", "Ber", "Cor", "Dan", "El", "Fen", "Gar", "Hal", "Is", "Jor", "Kel", "Lor", "Mar", "Nor")
MIDDLE: Final = ("a", "e", "i", "o", "u", "ai", "ea", "io")
LAST: Final = ("beth", "dric", "gorn", "lind", "mund", "nar", "ric", "sson", "thas", "vane", "win", "zel")
