import type { FastifyRequest } from "fastify";
import type { Session } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { findCookie } from "../../platform/pages/cookies.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { Role } from "../model.ts";
import { isConfirmed } from "../sign-in/confirm-identity.ts";
import { findSession, isSameToken, type MemberSession } from "../sign-in/sessions.ts";
import { refuseMember } from "./operations.ts";
import { listActiveSessions, type SessionState } from "./store.ts";

type MemberDeps = Pick<ModuleCore, "config" | "database" | "index_key" | "clock"> & {
  public_url: () => string;
};

const PREFIX = "session:";
/** Sent with every request of the dashboard; a page of another site cannot read or send it. */
const CSRF_HEADER = "x-csrf-token";

/**
 * The signed-in member who sends a request to the API from the dashboard: the session's cookie,
 * and the CSRF token of that session in a header, for reads as well. Null for everybody else.
 */
export function createAuthenticateMember(
  deps: MemberDeps,
): (request: FastifyRequest) => Promise<Caller | null> {
  return async ({ headers }) => {
    const given = headers[CSRF_HEADER];
    if (given === undefined || headers.cookie === undefined) return null;
    const token = findCookie(headers.cookie, deps.public_url(), "session");
    const now = realTime(deps.clock);
    const session = await findSession(deps, token, now);
    if (session?.state !== "active" || !isSameToken(session.csrf, given)) return null;
    return callerOf(deps, session, now);
  };
}

function callerOf({ database, clock }: MemberDeps, member: MemberSession, now: Date): Caller {
  const { account_id, person_id, role } = member;
  const is_confirmed = isConfirmed(member, now);
  const credential_id = credentialOf(member);
  return {
    account_id,
    credential_id,
    key_label: `member …${person_id.slice(-8)}`,
    actor: `member:${person_id}`,
    refuse: ({ operation }) => refuseMember({ role, is_confirmed }, operation),
    assertActive: () => assertActiveMember(database, { credential_id }, realTime(clock)),
  };
}

export function isSessionCredential(credential_id: string): boolean {
  return credential_id.startsWith(PREFIX);
}

/** Those that may still write: not ended, in the same account, with the same role. */
export async function listActiveMembers(
  session: Session,
  credential_ids: readonly string[],
  now: Date,
  tenant_id?: string,
): Promise<string[]> {
  if (credential_ids.length === 0) return [];
  const active = await listActiveSessions(session, credential_ids.map(sessionOf), now, tenant_id);
  return active.map(credentialOf);
}

/** Whose session a request came from, as it was when the request was accepted. */
export function sessionOf(credential_id: string): SessionState {
  const [id, account_id, person_id, role] = credential_id.slice(PREFIX.length).split(":");
  return { id: id!, account_id: account_id!, person_id: person_id!, role: role as Role };
}

/**
 * For writes that are no commands, in their transaction: whoever sends a body decides when its last
 * byte arrives, and the session may have ended, or lost its role, since it began.
 */
export function assertActiveMember(
  session: Session,
  { credential_id }: Pick<Caller, "credential_id">,
  now: Date,
  /** The account of the transaction, where it may be another than the member's. */
  tenant_id?: string,
): Promise<SessionState> {
  return assertActiveSession(session, sessionOf(credential_id), now, tenant_id);
}

/** The same for the forms of pages. */
export async function assertActiveSession(
  session: Session,
  state: SessionState,
  now: Date,
  tenant_id?: string,
): Promise<SessionState> {
  const [active] = await listActiveSessions(session, [state], now, tenant_id);
  if (active === undefined) throw new Refusal("unauthorized");
  return active;
}

/** Names the account and the role as well: the session may change both while a request waits. */
function credentialOf({ id, account_id, person_id, role }: SessionState): string {
  return `${PREFIX}${[id, account_id, person_id, role].join(":")}`;
}
