import { Anchor, Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { Link } from "wouter";
import { Amount } from "../../parts/amount.tsx";
import { Moment } from "../../parts/moment.tsx";
import { plainText } from "../../parts/plain-text.ts";
import { StatusChip } from "../../parts/status-chip.tsx";
import { type Approval, linksOf } from "./approval.ts";
import { type Verdict, VoteDialog } from "./vote-dialog.tsx";

const FAMILIES = {
  pending: "needs_you",
  confirmed: "working",
  done: "done",
  rejected: "failed",
  failed: "failed",
  void: "came_back",
  lapsed: "came_back",
} as const;

/** One request: what would happen, who asked, why it needs two, and what others decided. */
export function ApprovalCard({ approval }: { approval: Approval }) {
  const [asked, setAsked] = useState<Verdict | null>(null);
  const title_id = `approval-${approval.id}`;
  const family = FAMILIES[approval.status as keyof typeof FAMILIES];
  return (
    <section className="card approval" aria-labelledby={title_id}>
      <Group justify="space-between" align="flex-start">
        <h2 id={title_id}>{plainText(approval.summary)}</h2>
        {approval.amount_usd !== null && (
          <span className="approval-amount">
            <Amount value={approval.amount_usd} currency="usd" />
          </span>
        )}
      </Group>
      <dl>
        {approval.account_name && <Fact name="Account">{approval.account_name}</Fact>}
        {byLabel(approval.details ?? []).map(([label, text]) => (
          <Fact key={label} name={label}>
            <Value label={label} text={text} />
          </Fact>
        ))}
        {approval.why && <Fact name="Why it needs two">{plainText(approval.why)}</Fact>}
        <Fact name="Asked by">
          {approval.proposed_by}, <Moment at={approval.created_at} />
        </Fact>
        <Fact name="Confirmed">
          {approval.confirmations} of {approval.confirmations_needed}
          {approval.voters === "with_operator" && ", one of them the operator's"}
          <Votes approval={approval} />
        </Fact>
        {approval.status === "pending" ? (
          <Fact name="Lapses">
            <Moment at={approval.lapses_at} />
          </Fact>
        ) : (
          <Fact name="State">
            <StatusChip status={approval.status} family={family} />
            {approval.outcome && <div className="quiet">{plainText(approval.outcome)}</div>}
          </Fact>
        )}
      </dl>
      <Group justify="space-between" gap="xs">
        <Group gap="md">
          {linksOf(approval).map(({ name, path, is_outside }) =>
            is_outside ? (
              <Anchor key={path} href={path} size="sm">
                {name}
              </Anchor>
            ) : (
              <Anchor key={path} component={Link} href={path} size="sm">
                {name}
              </Anchor>
            ),
          )}
        </Group>
        <Choices approval={approval} onAsk={setAsked} />
      </Group>
      {asked && <VoteDialog approval={approval} verdict={asked} onClose={() => setAsked(null)} />}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A quote has a line for each payee: they stand together. */
function byLabel(details: NonNullable<Approval["details"]>): [label: string, text: string][] {
  const texts = new Map<string, string>();
  for (const { label, value } of details) {
    const before = texts.get(label);
    const text = plainText(value);
    texts.set(label, before === undefined ? text : `${before}\n${text}`);
  }
  return [...texts];
}

const LONG_CHARACTERS = 300;

/** The payees of a large quote would push everything else away: they scroll. */
function Value({ label, text }: { label: string; text: string }) {
  if (text.length <= LONG_CHARACTERS) return text;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by the keyboard as well.
    <section className="approval-long" aria-label={label} tabIndex={0}>
      {text}
    </section>
  );
}

function Votes({ approval: { votes } }: { approval: Approval }) {
  return votes.map(({ by, verdict, at }) => (
    <div key={by} className="quiet">
      {by} {verdict === "confirm" ? "confirmed" : "rejected"} <Moment at={at} />
    </div>
  ));
}

function Choices(props: { approval: Approval; onAsk: (verdict: Verdict) => void }) {
  const { approval, onAsk } = props;
  const summary = plainText(approval.summary);
  if (approval.status !== "pending") return null;
  if (!approval.is_mine) {
    return (
      <Text size="sm" c="dimmed">
        {reasonFor(approval)}
      </Text>
    );
  }
  return (
    <Group gap="xs">
      {approval.is_own && (
        <Text size="sm" c="dimmed">
          You asked for this; someone else decides.
        </Text>
      )}
      <Button variant="default" aria-label={`Reject: ${summary}`} onClick={() => onAsk("reject")}>
        Reject
      </Button>
      {approval.digest && !approval.waits_for ? (
        <Button aria-label={`Approve: ${summary}`} onClick={() => onAsk("confirm")}>
          {approval.is_own ? "Confirm first" : "Approve"}
        </Button>
      ) : (
        <Text size="sm" c="dimmed">
          {approval.waits_for ?? "The user was erased."}
        </Text>
      )}
    </Group>
  );
}

function reasonFor({ voters, has_voted, is_own, may_vote }: Approval): string {
  if (voters === "reviewers") return "Reviewers decide on the page of the review.";
  if (has_voted) return "You have confirmed this; someone else must confirm it too.";
  if (is_own) return "You asked for this; someone else decides.";
  return may_vote ? "" : "Admins, finance managers and approvers decide.";
}
