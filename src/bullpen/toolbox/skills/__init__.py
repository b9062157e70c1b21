"""Skills: workflows that the agent keeps for people, who start them with `/name` in the space it is in."""

from bullpen.toolbox.skills.delete_skill import delete_skill
from bullpen.toolbox.skills.list_skills import list_skills
from bullpen.toolbox.skills.store_skill import store_skill
from bullpen.tools.teaching import Lesson

TOOLS = (store_skill, list_skills, delete_skill)

LESSONS = (
    Lesson(
        "People can start a workflow of yours by writing /name here: store_skill keeps it. Write its instructions step "
        "by step, for somebody who knows nothing of this conversation: whoever follows them begins afresh, with these "
        "words and with what the person wrote behind the name. What you store may have to wait until a person has "
        "looked at it; then the result says so.",
        ("store_skill",),
    ),
)
