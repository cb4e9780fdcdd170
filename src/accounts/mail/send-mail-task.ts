import { type Mail, type MailPort, MailRefusedError } from "../../partners/mail/port.ts";
import type { Database } from "../../platform/db/database.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { SlowWork } from "../../platform/tasks/slow-work.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { recordAudit } from "../audit.ts";
import { hashEmail } from "../person-email.ts";
import { openPersonal } from "../seal-personal.ts";
import { createPasswordLink } from "../sign-in/password-links.ts";
import { findPerson, listMemberships, type Membership, type PersonRow } from "../store.ts";
import { SEND_MAIL_TASK } from "./queue-mail.ts";
import { deleteMail, findMail, type MailRow } from "./store.ts";
import { mailText } from "./texts.ts";

type SendDeps = Pick<ModuleCore, "database" | "index_key" | "clock" | "public_url" | "config"> & {
  mail: MailPort;
};

const SETS_AT_ONCE = 4;
/** Mail that is accepted slowly: one account's must not keep that of others waiting. */
const SLOW_LIMITS = { per_account: 4, of_all: 16 };
const MEMBERSHIPS_MAX = 100;
/** How long the sandbox shows mail that contains no link. */
const SHOWN_MS = 30 * DAY_MS;

/**
 * Sends one mail. Its link is created just before, in a transaction of its own, so that the hour
 * it is valid begins now and no queue ever contains it. A second attempt creates another link.
 */
export function sendMailTask(deps: SendDeps): TaskHandler {
  const slow = new SlowWork(SLOW_LIMITS);
  return {
    kind: SEND_MAIL_TASK,
    set_max: 1,
    sets_at_once: SETS_AT_ONCE,
    handle: async (set) => {
      const { account_id, record_id: id } = set.tasks[0]!;
      const row = await findMail(deps.database, { account_id, id });
      const is_due = row !== undefined && row.expires_at > set.now;
      const reader = is_due ? await findReader(deps, row) : null;
      if (!is_due || !reader)
        return end(deps, set, row && !is_due ? { ...row, action: "mail.expire" } : null);
      // Not the mail's own account: whoever asks for a new password has the operator's.
      const share_id = reader.membership.account_id;
      if (slow.isUsedUp(share_id)) return putOff(deps, set, slow.nextTime(share_id, set.now));
      const leavePlace = () => {
        if (slow.isRoomLeft) set.leavePlace();
      };
      await slow.count(share_id, leavePlace, async () => {
        const is_refused = await isRefused(deps.mail, await prepare(deps, row, reader));
        await end(deps, set, is_refused ? { ...row, action: "mail.refuse" } : null);
      });
    },
  };
}

async function putOff({ database }: SendDeps, set: TaskSet, until: Date): Promise<void> {
  await database.transaction(async (tx) => set.postpone(tx, await set.lock(tx), until));
}

/** The mail was sent, or never will be. */
async function end(
  { database }: SendDeps,
  set: TaskSet,
  unsent: { kind: MailRow["kind"]; action: "mail.expire" | "mail.refuse" } | null,
): Promise<void> {
  const { account_id, record_id: id } = set.tasks[0]!;
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    if (tasks.length === 0) return;
    deleteMail(tx, { account_id, id });
    if (unsent) {
      const { kind, action } = unsent;
      const entry = { account_id, actor: "worker", action, record: `mail:${id}` } as const;
      recordAudit(tx, { ...entry, reason: "", detail: { kind } }, set.now);
    }
    set.finish(tx, tasks);
  });
}

async function isRefused(port: MailPort, mail: Mail): Promise<boolean> {
  try {
    await port.send(mail);
    return false;
  } catch (error) {
    if (error instanceof MailRefusedError) return true;
    throw error;
  }
}

type Reader = { to: string; person: PersonRow; membership: Membership };

/** Null when the address belongs to no member: nobody learns that. */
async function findReader(deps: SendDeps, row: MailRow): Promise<Reader | null> {
  const { database, index_key } = deps;
  const place = { table: "mails", column: "address", record_id: row.id };
  const to = openPersonal(index_key, place, row.address);
  const person = await findPerson(database, hashEmail(index_key, to));
  const memberships = person ? await listMemberships(database, person.id, MEMBERSHIPS_MAX) : [];
  const membership = memberships.find((one) => one.account_id === row.account_id) ?? memberships[0];
  return person && membership ? { to, person, membership } : null;
}

async function prepare(deps: SendDeps, row: MailRow, reader: Reader): Promise<Mail> {
  const { database, index_key, clock, config } = deps;
  const { id, kind } = row;
  const { to, person, membership } = reader;
  const now = realTime(clock);
  const public_url = deps.public_url() || `http://${config.host}:${config.port}`;
  const link =
    kind === "invitation" || kind === "reset"
      ? await createLink(database, index_key, { person_id: person.id, kind }, now)
      : { path: "", expires_at: new Date(now.getTime() + SHOWN_MS) };
  const facts = { public_url, account_name: membership.account_name };
  const text = mailText(kind, { ...facts, link: `${public_url}${link.path}` });
  return { id, to, ...text, expires_at: link.expires_at };
}

function createLink(
  database: Database,
  index_key: Buffer,
  link: { person_id: string; kind: "invitation" | "reset" },
  now: Date,
): Promise<{ path: string; expires_at: Date }> {
  return database.transaction(async (tx) => createPasswordLink(tx, index_key, link, now));
}
