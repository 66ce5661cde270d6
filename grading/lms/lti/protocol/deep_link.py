"""Deep linking: a teacher picks an assignment in the platform, which makes the link to it."""

from __future__ import annotations

from pylti1p3.deep_link import DeepLink
from pylti1p3.deep_link_resource import DeepLinkResource
from pylti1p3.lineitem import LineItem

from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.visit import Visit


def answer(tool: Tool, visit: Visit, assignment: str, most: float) -> str:
    """Return the signed answer that asks the platform for a link to an assignment.

    Args:
        tool: the tool.
        visit: the teacher's launch, with the platform's settings.
        assignment: what the link is about.
        most: the points of the column that the platform makes with it, 0 for no column.

    """
    resource = (
        DeepLinkResource()
        .set_title(assignment)
        .set_url(f"{tool.public_url}/launch")
        .set_custom_params({"assignment": assignment})
    )
    if most > 0:
        resource.set_lineitem(
            LineItem()
            .set_score_maximum(most)
            .set_label(assignment)
            .set_resource_id(assignment)
            .set_tag(assignment)
        )
    registration = tool.configuration.tool_conf(tool.keys).find_registration_by_params(
        visit.issuer, visit.client_id
    )
    return DeepLink(registration, visit.deployment, visit.linking).get_response_jwt(
        [resource]
    )
