import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ROLES } from "../accounts/model.ts";
import {
  addPageScope,
  type PageDeps,
  readField,
  readNotice,
  requireConfirmed,
  requireSession,
  sendPage,
} from "../accounts/page-scope.ts";
import { openEmail } from "../accounts/person-email.ts";
import { findPersonById, listMembers } from "../accounts/store.ts";
import { isVisible } from "../catalogue/text.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { Refusal } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { type MemberChange, memberChange } from "./change-members.ts";
import { changeOrPropose } from "./controlled-change.ts";
import { MEMBERS_PATH, membersPage } from "./member-page.ts";

type MemberPageDeps = PageDeps & { keyring: Keyring };

const REASON_LENGTH_MAX = 200;
const NOTICES: Readonly<Record<string, string>> = {
  add: "Done. A mail is on its way to the new member.",
  set_role: "The role is changed.",
  remove: "The member is removed. Their sessions have ended.",
  reset_factor: "The second factor is removed. Their sessions have ended.",
  proposed: "Proposed. Two members must confirm it on the page of proposals.",
};

/** The page where admins change who is a member, and with which role. */
export function addMemberPages(app: FastifyInstance, deps: MemberPageDeps): void {
  const admins = requireSession("manage_members");
  const changing = { onRequest: [admins, requireConfirmed(deps, MEMBERS_PATH)] };
  addPageScope(app, deps, (scope) => {
    scope.get(MEMBERS_PATH, { onRequest: admins }, (request, reply) =>
      show(deps, request, reply, null),
    );
    for (const way of ["add", "change"] as const) {
      scope.post(`${MEMBERS_PATH}/${way}`, changing, (request, reply) =>
        change(deps, request, reply, way),
      );
    }
  });
}

async function change(
  deps: MemberPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  way: "add" | "change",
): Promise<FastifyReply> {
  const { account_id, person_id } = request.member!;
  try {
    const input = await readChange(deps, request, way);
    const by = { actor: `member:${person_id}`, reason: readReason(request) } as const;
    const asked = { account_id, input, is_operators: false, by };
    const proposal = await deps.database.transaction((tx) =>
      changeOrPropose(tx, deps, memberChange(deps), asked, deps.clock.now()),
    );
    deps.wake();
    return reply.redirect(`${MEMBERS_PATH}?done=${proposal ? "proposed" : input.action}`, 303);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return show(deps, request, reply, error);
  }
}

async function readChange(
  deps: MemberPageDeps,
  request: FastifyRequest,
  way: "add" | "change",
): Promise<MemberChange> {
  const role = ROLES.find((known) => known === readField(request, "role"));
  const action = way === "add" ? "add" : readField(request, "action");
  if (!role) throw invalid("Choose a role.");
  if (action === "add") return { action, email: readField(request, "email"), role };
  const given = readField(request, "person_id");
  const person = isId(given) ? await findPersonById(deps.database, given) : undefined;
  if (!person) throw new Refusal("record_not_found");
  const person_id = person.id;
  // What voters see is never taken from the form. Whether it is a member, the change checks.
  const email = openEmail(deps.index_key, person_id, person.email);
  if (action === "set_role") return { action, email, person_id, role };
  if (action === "remove") return { action, email, person_id };
  if (action === "reset_factor") {
    // Where one admin decides alone, the password would be enough to remove it.
    if (person_id === request.member!.person_id) throw invalid(OWN_FACTOR);
    return { action, email, person_id, is_operators: false };
  }
  throw invalid("Choose what to change.");
}

const OWN_FACTOR =
  "You cannot reset your own second factor. Remove it on the security page, or ask another admin.";

function readReason(request: FastifyRequest): string {
  const reason = readField(request, "reason")
    .toWellFormed()
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  if (!isVisible(reason) || reason.length > REASON_LENGTH_MAX) {
    throw invalid(`Give a reason of at most ${REASON_LENGTH_MAX} characters.`);
  }
  return reason;
}

function invalid(message: string): Refusal {
  return Refusal.of([{ field: "reason", code: "record_invalid", message }]);
}

async function show(
  deps: MemberPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal | null,
): Promise<FastifyReply> {
  const session = request.member!;
  const rows = await listMembers(deps.database, session.account_id);
  const members = rows.map((row) => ({
    ...row,
    email: openEmail(deps.index_key, row.person_id, row.email),
  }));
  const problem = refusal && (refusal.problems[0]?.message ?? refusal.message);
  const notice = refusal ? null : readNotice(request, NOTICES);
  const shown = membersPage({ mode: deps.mode, session, members, problem, notice });
  return sendPage(reply, shown, refusal?.status ?? 200);
}
