import type { Onramp } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import { ask } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Copied, Fact } from "../../parts/fact.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { plainText } from "../../parts/plain-text.ts";
import { RecordId } from "../../parts/record-id.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";

/** What a state means for money that comes in. */
const STATES: Readonly<Record<string, string>> = {
  initiated: "awaiting_fiat",
  sending_fiat: "fiat_received",
};
const MEANINGS: Readonly<Record<Onramp["status"], string>> = {
  initiated: "Waiting for the bank transfer. Its rate is locked for 24 hours.",
  sending_fiat: "The deposit has arrived. The coins are on their way.",
  crypto_sent: "The coins were sent.",
  failed: "It ended without delivering coins.",
};

export const ONRAMP_STATES = Object.keys(MEANINGS) as Onramp["status"][];

export function onrampName(status: Onramp["status"]): string {
  return statusName(STATES[status] ?? status);
}

export function OnrampChip({ status }: { status: Onramp["status"] }) {
  return <StatusChip status={STATES[status] ?? status} />;
}

type Instructions = { deposit_instructions: Record<string, string | null> };
type Shown = { onramp: Onramp & Instructions; names: Names };

/** One onramp: where it is, how it is paid in, and where the coins go. */
export function OnrampDetail({ id }: { id: string }) {
  const shown = useQuery({
    queryKey: ["deposits", "onramp", id],
    queryFn: async (): Promise<Shown> => {
      const { onramp } = await ask<Pick<Shown, "onramp">>(`/onramps/${encodeURIComponent(id)}`);
      return { onramp, names: await loadNames({ users: [onramp.user_id] }) };
    },
  });
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/deposits">‹ Deposits</Link>
      </nav>
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Content {...shown.data} />}
    </>
  );
}

function Content({ onramp, names }: Shown) {
  const person = names.users[onramp.user_id]?.name ?? "Erased";
  const token = onramp.crypto_currency;
  const amount = formatAmount(onramp.destination_amount, token);
  const title = `${amount} ${token.toUpperCase()} for ${person}`;
  useEffect(() => {
    document.title = `${title} · Sliproad`;
  }, [title]);
  return (
    <>
      <header className="card detail-head">
        <div className="detail-title">
          <h1>
            {amount} <span className="currency">{token.toUpperCase()}</span>
            <span className="detail-to">for {person}</span>
          </h1>
          <OnrampChip status={onramp.status} />
          <p className="detail-why">
            {onramp.status_message ? plainText(onramp.status_message) : MEANINGS[onramp.status]}
          </p>
        </div>
      </header>
      <div className="detail">
        <Instructions onramp={onramp} />
        <Facts onramp={onramp} person={person} />
      </div>
    </>
  );
}

/** Where the person sends the money, as they were told. */
function Instructions({ onramp }: Pick<Shown, "onramp">) {
  const told = Object.entries(onramp.deposit_instructions).filter(([, value]) => value);
  return (
    <section className="card facts" aria-label="How it is paid in">
      <h2>How it is paid in</h2>
      <dl>
        <Fact name="Amount">
          <Amount value={onramp.deposit_amount} currency={onramp.fiat_currency} />
        </Fact>
        {told.map(([name, value]) => (
          <Fact key={name} name={inWords(name)}>
            <Copied text={value!} label={inWords(name).toLowerCase()} />
          </Fact>
        ))}
      </dl>
    </section>
  );
}

function Facts({ onramp, person }: Pick<Shown, "onramp"> & { person: string }) {
  return (
    <section className="card facts" aria-label="Details">
      <h2>Terms</h2>
      <dl>
        <Fact name="Person">
          <Link href={`/people/${onramp.user_id}`}>{person}</Link>
        </Fact>
        <Fact name="Rate">
          1 {onramp.crypto_currency.toUpperCase()} = {onramp.rate}{" "}
          {onramp.fiat_currency.toUpperCase()}
        </Fact>
        <Fact name="Fee">
          <Amount value={onramp.fee} currency={onramp.fiat_currency} />
        </Fact>
        <Fact name="Coins go to">
          <Copied text={onramp.destination_address} label="address" is_code />
        </Fact>
        <Fact name="Chain">{chainName(onramp.crypto_rails)}</Fact>
        {onramp.tx_id && (
          <Fact name="Transaction">
            <Copied text={onramp.tx_id} label="transaction" is_code />
          </Fact>
        )}
        <Fact name="Created">
          <Moment at={onramp.created_at} />
        </Fact>
        <Fact name="Id">
          <RecordId id={onramp.id} />
        </Fact>
      </dl>
    </section>
  );
}

function inWords(name: string): string {
  if (name === "bank_swift_bic") return "BIC";
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
