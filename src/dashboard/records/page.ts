import type { FastifyInstance } from "fastify";
import { listApiKeysById } from "../../accounts/api-key-store.ts";
import {
  addPageScope,
  type PageDeps,
  requireSession,
  sendPage,
} from "../../accounts/page-scope.ts";
import { referenceName } from "../../accounts/pages.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { may } from "../../accounts/roles.ts";
import { listMembersById } from "../../accounts/store.ts";
import { RECORD_PATH } from "../../approvals/render.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { type Html, type HtmlValue, html } from "../../platform/http/html.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { moment, NONE, page, table } from "../../platform/pages/layout.ts";
import { type HistoryItem, ITEMS_MAX, readHistory } from "../../reports/read-history.ts";
import { findRetention } from "../../retention/load-facts.ts";
import type { Retention } from "../../retention/model.ts";
import { retentionSection } from "../../retention/section.ts";
import type { UserKey } from "../../users/store.ts";
import { describeRecords } from "../search/describe-records.ts";
import { listByIds } from "../search/store.ts";
import { plainText, showAmount } from "./plain-text.ts";

const KIND_NAMES: Record<HistoryItem["kind"], string> = {
  event: "Change",
  posting: "Posting",
  act: "Act",
  proposal: "Proposal",
  vote: "Vote",
};

type RecordPageDeps = PageDeps & Pick<ModuleCore, "keyring"> & { retention_years: number };

/** One page per record: what it became, which money moved, and who decided what. */
export function addRecordPage(app: FastifyInstance, deps: RecordPageDeps): void {
  addPageScope(app, deps, (scope) => {
    const signed_in = { onRequest: requireSession("see_records") };
    scope.get(`${RECORD_PATH}/:record_id`, signed_in, async (request, reply) => {
      const { record_id = "" } = request.params as Record<string, string>;
      const session = request.member!;
      const { account } = request.query as Record<string, unknown>;
      // The operator's members also see the records of other accounts.
      const is_other = session.is_operator && typeof account === "string" && isId(account);
      const account_id = is_other ? account : session.account_id;
      if (!isId(record_id)) throw Refusal.of([notFound("record_id")]);
      const [history, retention] = await Promise.all([
        readHistory(
          deps,
          { account_id, record_id },
          { ...session, reviews_screening: may(session.role, "review_screening") },
        ),
        findRetentionOf(deps, { account_id, user_id: record_id }),
      ]);
      if (history.length === 0 && !retention) throw Refusal.of([notFound("record_id")]);
      // The operator's own members decide about the records of other accounts.
      const account_ids = [...new Set([account_id, session.account_id])];
      const names = await findNames(deps, account_ids, history);
      // Names of another account's people are on the pages that review them.
      const found = is_other ? [] : await listByIds(deps.database, account_id, [record_id]);
      const [record] = await describeRecords(deps, account_id, found);
      const title = record ? plainText(record.title) : `Record …${record_id.slice(-8)}`;
      const { note = "" } = record ?? {};
      const body = recordPage({ record_id, title, note, history, names, retention });
      return sendPage(reply, page({ title, mode: deps.mode, session, body }));
    });
  });
}

/** Undefined if the record is not a user. */
function findRetentionOf(deps: RecordPageDeps, key: UserKey): Promise<Retention | undefined> {
  return findRetention(deps.database, key, deps.retention_years, deps.clock.now());
}

/** Display names of the API keys and members who acted. */
async function findNames(
  { database, index_key }: PageDeps,
  account_ids: string[],
  history: readonly HistoryItem[],
): Promise<ReadonlyMap<string, string>> {
  const actors = history.flatMap(({ who }) => actorsOf(who).map((one) => one.split(":")[1] ?? ""));
  const ids = [...new Set(actors)].filter(isId);
  const [keys, people] = await Promise.all([
    listApiKeysById(database, ids),
    listMembersById(database, account_ids, ids),
  ]);
  return new Map([
    ...keys.map((key) => [key.id, `API key ${key.prefix}…${key.last_four}`] as const),
    ...people.map(
      (row) => [row.person_id, openEmail(index_key, row.person_id, row.email)] as const,
    ),
  ]);
}

function actorsOf(who: string | null): string[] {
  return who?.split(",") ?? [];
}

type Shown = {
  record_id: string;
  /** What the record is: a name, an amount. */
  title: string;
  note: string;
  history: readonly HistoryItem[];
  names: ReadonlyMap<string, string>;
  retention: Retention | undefined;
};

function recordPage({ record_id, title, note, history, names, retention }: Shown): Html {
  const is_cut = Object.keys(KIND_NAMES).some(
    (kind) => history.filter((item) => item.kind === kind).length >= ITEMS_MAX,
  );
  return html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>${title}</h1></div>
<p class="muted">${note && `${note} · `}Id <code>${record_id}</code></p>
${retention && retentionSection(retention)}
<section class="card" aria-labelledby="history-title">
<h2 id="history-title">History</h2>
${
  is_cut &&
  html`<p class="hint">The newest ${String(ITEMS_MAX)} of each kind are shown; exports for auditors
have all.</p>`
}
${table({
  label: "History, newest first",
  columns: ["Time", "What", "Who", "Change", "Why"],
  rows: history.map((item) => [
    moment(item.at),
    html`<div>${KIND_NAMES[item.kind]}: ${inWords(item.what)}</div>`,
    whoOf(item, names),
    changeOf(item),
    item.why === null ? NONE : plainText(item.why),
  ]),
  empty: "Nothing happened yet.",
})}
</section>`;
}

function whoOf({ who, kind }: HistoryItem, names: ReadonlyMap<string, string>): HtmlValue {
  if (who === null) return kind === "posting" ? NONE : "Sliproad";
  return actorsOf(who).map((one, at) => html`${at > 0 && " or "}${referenceName(one, names)}`);
}

function changeOf({ before, after, lines }: HistoryItem): HtmlValue {
  if (lines.length === 0) {
    if (before === null) return after === null ? NONE : plainText(inWords(after));
    return `${inWords(before)} → ${inWords(after ?? "")}`;
  }
  // In one element: on a narrow screen a cell's children stand beside its label.
  return html`<div>${lines.map(
    ({ ledger_account, currency, amount }) =>
      html`<div><span class="amount">${showAmount(amount, currency)}</span>
${inWords(ledger_account.split(":")[0]!)}</div>`,
  )}</div>`;
}

/** `offramp.remove` → Offramp remove. */
function inWords(name: string): string {
  if (!/^[a-z]+(?:[._-][a-z]+)*$/.test(name)) return name;
  const words = name.replaceAll(/[._-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
