import { Title } from "@mantine/core";
import { Link } from "wouter";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { Moment } from "../../parts/moment.tsx";
import { may } from "../../session.ts";

export type Waiting = { name: string; count: number; oldest_at: string | null };

type Queue = {
  one: string;
  many: string;
  icon: IconName;
  path: string;
  permission: string;
};

const QUEUES: Readonly<Record<string, Queue>> = {
  held_payouts: {
    ...{ one: "payout is held", many: "payouts are held", icon: "needs" },
    ...{ path: "/payouts?status=ongoing_checks", permission: "see_records" },
  },
  returned_payouts: {
    ...{ one: "payout came back", many: "payouts came back", icon: "back" },
    ...{ path: "/payouts?status=bounced", permission: "see_records" },
  },
  silent_payouts: {
    ...{ one: "payout without an answer of the bank", icon: "wait" },
    many: "payouts without an answer of the bank",
    ...{ path: "/payouts?status=sending_fiat&unanswered=true", permission: "see_records" },
  },
  stuck_sends: {
    ...{ one: "transaction is stuck", many: "transactions are stuck", icon: "wait" },
    ...{ path: "/deposits?tab=sends", permission: "see_records" },
  },
  proposals: {
    ...{ one: "approval is pending", many: "approvals are pending", icon: "approvals" },
    ...{ path: "/approvals?tab=waiting", permission: "see_account" },
  },
  kyc_reviews: {
    ...{ one: "identity to review", many: "identities to review", icon: "people" },
    ...{ path: "/people/reviews", permission: "review_kyc" },
  },
  documents_to_check: {
    ...{ one: "document to check", many: "documents to check", icon: "invoices" },
    ...{ path: "/documents", permission: "review_documents" },
  },
  rejected_documents: {
    ...{ one: "document was rejected", many: "documents were rejected", icon: "invoices" },
    ...{ path: "/documents?tab=rejected", permission: "review_documents" },
  },
  unmatched_deposits: {
    ...{ one: "deposit is unmatched", many: "deposits are unmatched", icon: "deposits" },
    ...{ path: "/deposits?tab=unmatched", permission: "see_records" },
  },
  bank_exceptions: {
    ...{ one: "bank answer is unclear", many: "bank answers are unclear", icon: "bank" },
    ...{ path: "/deposits?tab=exceptions", permission: "see_records" },
  },
  failing_apps: {
    ...{ one: "app receives no events", many: "apps receive no events", icon: "failed" },
    ...{ path: "/settings/developer/apps", permission: "see_apps" },
  },
};

const SHOWN_MAX = 1_000;

/** What waits for somebody: how many, since when, and the way there. */
export function NeedsAttention({ waiting }: { waiting: readonly Waiting[] }) {
  const shown = Object.entries(QUEUES).flatMap(([name, queue]) => {
    const found = waiting.find((one) => one.name === name);
    return found && found.count > 0 && may(queue.permission) ? [{ ...found, queue }] : [];
  });
  return (
    <section aria-labelledby="attention">
      <Title order={2} size="h4" id="attention" mb="sm">
        Needs attention
      </Title>
      {shown.length === 0 ? (
        <p className="card calm">
          <Icon name="done" /> Nothing waits for you.
        </p>
      ) : (
        <ul className="tiles">
          {shown.map((one) => (
            <li key={one.name}>
              <Tile {...one} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Tile({ count, oldest_at, queue }: Waiting & { queue: Queue }) {
  return (
    <Link className="card tile" href={queue.path}>
      <span className="tile-head">
        <span className="tile-count">{count > SHOWN_MAX ? "1\u202f000+" : count}</span>
        <Icon name={queue.icon} />
      </span>
      <span className="strong">{count === 1 ? queue.one : queue.many}</span>
      {oldest_at && (
        <span className="quiet">
          {count === 1 ? "Since" : "Oldest"}: <Moment at={oldest_at} />
        </span>
      )}
    </Link>
  );
}
