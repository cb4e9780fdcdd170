import { Tabs } from "@mantine/core";
import type { HistoryItem } from "@sliproad/sdk";
import { DownloadAll } from "../../parts/download-records.tsx";
import { Copied } from "../../parts/fact.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { Copy } from "../../parts/record-id.tsx";
import type { Payout } from "./payout.ts";
import { sentenceOf } from "./sentences.ts";
import { stepsOf } from "./steps.ts";
import { PayoutWebhooks } from "./webhooks.tsx";

/** What happened to a payout: as a story, as bookings, and as the API shows it. */
export function PayoutTabs({ payout }: { payout: Payout }) {
  const { history, offramp } = payout;
  const postings = history.filter(({ kind }) => kind === "posting");
  return (
    <Tabs defaultValue="timeline" className="card tabs-card" keepMounted={false}>
      <Tabs.List>
        <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
        <Tabs.Tab value="ledger">Ledger lines</Tabs.Tab>
        <Tabs.Tab value="webhooks">Webhooks</Tabs.Tab>
        <Tabs.Tab value="raw">Raw</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="timeline">
        <LeftOut history={history} />
        <ol className="timeline" aria-label="Timeline, newest first">
          {stepsOf(payout).map((step) => (
            <li key={step.id} className={`step step-${step.family}`}>
              <div className="step-head">
                <span className={step.is_change ? "strong" : undefined}>{step.what}</span>
                <Moment at={step.at} is_exact />
              </div>
              {step.why && <div className="step-why">{step.why}</div>}
              {step.copied && (
                <div className="quiet">
                  {step.copied.name}{" "}
                  <Copied text={step.copied.text} label={step.copied.name} is_code />
                </div>
              )}
              {step.who && <div className="quiet">{step.who}</div>}
            </li>
          ))}
        </ol>
      </Tabs.Panel>
      <Tabs.Panel value="ledger">
        {postings.length === 0 && <p className="panel-none">No money has moved for it yet.</p>}
        <DownloadAll label="Ledger lines of a payout" rows={postings.flatMap(linesOf)} />
        {postings.map((item) => (
          <Posting key={item.id} item={item} />
        ))}
      </Tabs.Panel>
      <Tabs.Panel value="webhooks">
        <PayoutWebhooks id={offramp.id} />
      </Tabs.Panel>
      <Tabs.Panel value="raw">
        <Raw value={offramp} />
      </Tabs.Panel>
    </Tabs>
  );
}

/** The server reads the newest of each kind. */
const EACH_MAX = 500;
const KINDS = ["event", "posting", "act", "proposal", "vote"] as const;

function LeftOut({ history }: { history: Payout["history"] }) {
  const count = (of: HistoryItem["kind"]) => history.filter(({ kind }) => kind === of).length;
  if (!KINDS.some((kind) => count(kind) >= EACH_MAX)) return null;
  return (
    <p className="panel-none" role="status">
      The newest {EACH_MAX} changes, postings and decisions are shown. Older postings are in the
      journal of the ledger, older decisions in the audit log and in exports for auditors.
    </p>
  );
}

/** A row for each line. */
function linesOf({ at, what, lines }: HistoryItem): object[] {
  return lines.map((line) => ({ booked_at: at, posting: what, ...line }));
}

/** Debits stand above zero; the lines of each currency sum to zero. */
function Posting({ item }: { item: HistoryItem }) {
  return (
    <section className="posting">
      <div className="step-head">
        <h3>{sentenceOf(item)}</h3>
        <Moment at={item.at} is_exact />
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">Ledger account</th>
            <th scope="col" className="right">
              Debit + / credit −
            </th>
          </tr>
        </thead>
        <tbody>
          {item.lines.map((line) => (
            <tr key={`${line.ledger_account} ${line.currency} ${line.amount}`}>
              <td>{nameOf(line.ledger_account)}</td>
              <td className="right">
                <Side line={line} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td colSpan={2}>{sumsOf(item)}</td>
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

function Side({ line: { amount, currency } }: { line: HistoryItem["lines"][number] }) {
  return (
    <span className="amount">
      {amount.startsWith("-") ? "−" : "+"}
      {formatAmount(amount.replace("-", ""), currency)}{" "}
      <span className="currency">{currency.toUpperCase()}</span>
    </span>
  );
}

/** What the lines say, added up here and not only claimed. */
function sumsOf({ lines }: HistoryItem): string {
  const sums = new Map<string, bigint>();
  for (const { currency, amount } of lines) {
    sums.set(currency, (sums.get(currency) ?? 0n) + inMillionths(amount));
  }
  const listed = (currencies: string[]) =>
    currencies.map((currency) => currency.toUpperCase()).join(" and ");
  const wrong = [...sums].filter(([, sum]) => sum !== 0n).map(([currency]) => currency);
  if (wrong.length > 0) return `Does not add up in ${listed(wrong)}`;
  return `Adds up to 0 in ${listed([...sums.keys()])}`;
}

function inMillionths(amount: string): bigint {
  const [whole = "0", part = ""] = amount.split(".");
  return BigInt(whole + part.padEnd(6, "0"));
}

const LEDGER_NAMES: Readonly<Record<string, string>> = {
  owed: "Balance of the payer",
  deposit_clearing: "Deposits being used",
  payout_pending: "This payout",
  fx_position: "Exchange position",
  fees: "Fees",
  bank: "Bank account",
  suspense: "Unknown money",
  return_costs: "Costs of returns",
  short_deposits: "Short deposits",
};

function nameOf(ledger_account: string): string {
  const [kind = ""] = ledger_account.split(":");
  return LEDGER_NAMES[kind] ?? kind.replaceAll("_", " ");
}

function Raw({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <div className="raw">
      <Copy text={text} label="Copy JSON" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
      <section tabIndex={0} aria-label="JSON of the payout">
        <pre>{text}</pre>
      </section>
    </div>
  );
}
