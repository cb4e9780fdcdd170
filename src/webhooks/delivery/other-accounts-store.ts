import type { Session } from "../../platform/db/database.ts";

type OtherEvent = {
  id: string;
  body: Buffer | null;
  subject_id: string | null;
  trace_id: string | null;
  change_id: string | null;
};

/** What is known of a delivery before its event is read. */
type Unread = Omit<OtherEvent, "change_id"> & {
  account_id: string;
  app_id: string;
  event_account_id: string;
  event_id: string;
  sample: Buffer | null;
  consent: "not_needed" | "held" | "withdrawn";
};

/**
 * Adds what the events of other accounts say, where a statement reads one account only: the events
 * and their account's consents, each account for itself. Elsewhere the first read has them.
 */
export async function listWithOthers<Due extends Unread>(
  session: Session,
  due: readonly Due[],
): Promise<Due[]> {
  const isOther = (one: Due) => one.event_account_id !== one.account_id;
  if (!session.by_account || !due.some(isOther)) return [...due];
  const by_account = Map.groupBy(due.filter(isOther), (one) => one.event_account_id);
  const read = [...by_account].map(([account_id, own]) => readEvents(session, account_id, own));
  const found = new Map((await Promise.all(read)).flat());
  return due.map((one) => found.get(one.id) ?? one);
}

async function readEvents<Due extends Unread>(
  session: Session,
  account_id: string,
  due: readonly Due[],
): Promise<[string, Due][]> {
  const [events, grants] = await Promise.all([
    session.query<OtherEvent>(
      `select id, body, subject_id, trace_id, change_id from events
       where account_id = $1 and id = any($2::uuid[])`,
      [account_id, due.map((one) => one.event_id)],
    ),
    session.query<{ app_id: string }>(
      `select distinct app_id from app_grants
       where account_id = $1 and app_id = any($2::uuid[]) and revoked_at is null`,
      [account_id, due.map((one) => one.app_id)],
    ),
  ]);
  const by_id = new Map(events.map((event) => [event.id, event]));
  const granted = new Set(grants.map((grant) => grant.app_id));
  return due.map((one) => {
    const { body, subject_id, trace_id, change_id } = by_id.get(one.event_id) ?? NO_EVENT;
    const is_needed = one.sample === null && change_id !== null;
    const held = granted.has(one.app_id) ? "held" : "withdrawn";
    const consent = is_needed ? held : "not_needed";
    return [one.id, { ...one, body, subject_id, trace_id, consent }];
  });
}

const NO_EVENT = { body: null, subject_id: null, trace_id: null, change_id: null };
