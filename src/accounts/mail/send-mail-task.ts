import { type Mail, type MailPort, MailRefusedError } from "../../partners/mail/port.ts";
import type { Database } from "../../platform/db/database.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { recordAudit } from "../audit.ts";
import { hashEmail } from "../person-email.ts";
import { openPersonal } from "../seal-personal.ts";
import { createPasswordLink } from "../sign-in/password-links.ts";
import { findPerson, listMemberships } from "../store.ts";
import { SEND_MAIL_TASK } from "./queue-mail.ts";
import { deleteMail, findMail, type MailRow } from "./store.ts";
import { mailText } from "./texts.ts";

type SendDeps = Pick<ModuleCore, "database" | "index_key" | "clock" | "public_url" | "config"> & {
  mail: MailPort;
};

const SETS_AT_ONCE = 4;
const MEMBERSHIPS_MAX = 100;
/** How long the sandbox shows mail that contains no link. */
const SHOWN_MS = 30 * DAY_MS;

/**
 * Sends one mail. Its link is created just before, in a transaction of its own, so that the hour
 * it is valid begins now and no queue ever contains it. A second attempt creates another link.
 */
export function sendMailTask(deps: SendDeps): TaskHandler {
  return {
    kind: SEND_MAIL_TASK,
    set_max: 1,
    sets_at_once: SETS_AT_ONCE,
    handle: async (set) => {
      const { account_id, record_id: id } = set.tasks[0]!;
      const row = await findMail(deps.database, { account_id, id });
      const is_due = row !== undefined && row.expires_at > set.now;
      const mail = is_due ? await prepare(deps, row) : null;
      const is_refused = mail !== null && (await isRefused(deps.mail, mail));
      await deps.database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        if (tasks.length === 0) return;
        deleteMail(tx, { account_id, id });
        const action = is_refused ? "mail.refuse" : row && !is_due ? "mail.expire" : null;
        if (action) {
          const entry = { account_id, actor: "worker", action, record: `mail:${id}` } as const;
          recordAudit(tx, { ...entry, reason: "", detail: { kind: row!.kind } }, set.now);
        }
        set.finish(tx, tasks);
      });
    },
  };
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

/** Null when the address belongs to no member: nobody learns that. */
async function prepare(deps: SendDeps, row: MailRow): Promise<Mail | null> {
  const { database, index_key, clock, config } = deps;
  const { id, kind } = row;
  const place = { table: "mails", column: "address", record_id: id };
  const to = openPersonal(index_key, place, row.address);
  const person = await findPerson(database, hashEmail(index_key, to));
  const memberships = person ? await listMemberships(database, person.id, MEMBERSHIPS_MAX) : [];
  const membership = memberships.find((one) => one.account_id === row.account_id) ?? memberships[0];
  if (!person || !membership) return null;
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
