import { Progress as Bar, Button } from "@mantine/core";
import type { Offramp } from "@sliproad/sdk";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Copied, Fact } from "../../parts/fact.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { Payee } from "../../parts/payee.tsx";
import { RecordId } from "../../parts/record-id.tsx";
import { type Column, RecordTable } from "../../parts/record-table.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { AddPayoutDialog } from "./add-payout.tsx";
import { ExecuteDialog, FundDialog } from "./pay-dialogs.tsx";
import {
  countEnded,
  explainQuote,
  isFinished,
  nameOfPayer,
  type QuoteOnPage,
  useQuote,
} from "./quote.ts";

/** One quote: what it costs, how to pay for it, and how far its payouts are. */
export function QuoteDetail({ id }: { id: string }) {
  const shown = useQuote(id);
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/quotes">‹ Quotes</Link>
      </nav>
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Shown shown={shown.data} />}
    </>
  );
}

function Shown({ shown }: { shown: QuoteOnPage }) {
  return (
    <>
      <Head shown={shown} />
      <div className="detail">
        <div className="detail-side">
          <Payment shown={shown} />
        </div>
        <div className="stacked">
          {shown.progress.length > 0 && <Payouts shown={shown} />}
          <PayoutsOfQuote quote_id={shown.quote.id} />
        </div>
      </div>
    </>
  );
}

function Head({ shown }: { shown: QuoteOnPage }) {
  const { deposit_token, deposit_token_amount, status } = shown.quote;
  const payer = nameOfPayer(shown);
  useEffect(() => {
    document.title = `Quote of ${payer} · Sliproad`;
  }, [payer]);
  return (
    <header className="card detail-head">
      <div className="detail-title">
        <h1>
          {formatAmount(deposit_token_amount, deposit_token)}{" "}
          <span className="currency">{deposit_token.toUpperCase()}</span>
          <span className="detail-to">
            for {shown.payouts} {shown.payouts === 1 ? "payout" : "payouts"} of {payer}
          </span>
        </h1>
        <StatusChip status={isFinished(shown) ? "completed" : status} />
        <p className="detail-why">{explainQuote(shown)}</p>
      </div>
      <div className="detail-actions">
        <Actions shown={shown} />
      </div>
    </header>
  );
}

type Dialog = (props: { shown: QuoteOnPage; onClose: () => void }) => React.ReactNode;

function Actions({ shown }: { shown: QuoteOnPage }) {
  const [Open, setOpen] = useState<Dialog | null>(null);
  const { status } = shown.quote;
  const isOpen = status === "open";
  const isPayable = shown.payouts > 0 && !shown.is_funded && ["open", "executed"].includes(status);
  const actions: readonly (readonly [name: string, dialog: Dialog, isShown: boolean])[] = [
    ["Name the transfer", ExecuteDialog, may("move_money") && isPayable],
    ["Pay from the balance", FundDialog, may("move_money") && isPayable],
    ["Add a payout", AddPayoutDialog, may("prepare_payouts") && isOpen],
  ];
  return (
    <>
      {actions
        .filter(([, , isShown]) => isShown)
        .map(([name, dialog], at) => (
          <Button
            key={name}
            variant={at === 0 ? "filled" : "default"}
            onClick={() => setOpen(() => dialog)}
          >
            {name}
          </Button>
        ))}
      {Open && <Open shown={shown} onClose={() => setOpen(null)} />}
    </>
  );
}

function Payment({ shown }: { shown: QuoteOnPage }) {
  const { quote, deposit_address, crypto_transfer, received, missing } = shown;
  const token = quote.deposit_token;
  const isPayable = !shown.is_funded && ["open", "executed"].includes(quote.status);
  return (
    <section className="card facts" aria-label="Payment">
      <h2>{isPayable ? "Pay for it" : "Payment"}</h2>
      <dl>
        <Fact name={isPayable ? "Send" : "Cost"}>
          <Amount value={quote.deposit_token_amount} currency={token} />
        </Fact>
        <Fact name="On">{chainName(quote.deposit_token_chain)}</Fact>
        {isPayable && (
          <Fact name="To">
            <Copied text={deposit_address.address} label="address" is_code />
          </Fact>
        )}
        <Fact name="Received">
          <Amount value={received} currency={token} />
        </Fact>
        {Number(missing) > 0 && (
          <Fact name="Missing">
            <Amount value={missing} currency={token} />
          </Fact>
        )}
        {crypto_transfer && (
          <Fact name="Transfer">
            <Copied
              text={crypto_transfer.tx_id}
              short={shorten(crypto_transfer.tx_id)}
              label="transfer"
              is_code
            />
          </Fact>
        )}
      </dl>
      <h2>Terms</h2>
      <dl>
        {Object.entries(quote.rates).map(([currency, rate]) => (
          <Fact key={currency} name={`1 ${token.toUpperCase()}`}>
            {rate} {currency.toUpperCase()}
          </Fact>
        ))}
        <Fact name="Fees">
          <Amount value={quote.fees} currency={token} />
        </Fact>
        <Fact name="Rate until">
          <Moment at={new Date(quote.expiry * 1000).toISOString()} />
        </Fact>
        <Fact name="Payer">
          <Link href={`/people/${quote.user_id}`}>{nameOfPayer(shown)}</Link>
        </Fact>
        <Fact name="Created">
          <Moment at={quote.created_at} />
        </Fact>
        <Fact name="Id">
          <RecordId id={quote.id} />
        </Fact>
      </dl>
    </section>
  );
}

function shorten(text: string): string {
  return text.length > 18 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text;
}

/** How many payouts are where; the bar is full when none will change any more. */
function Payouts({ shown }: { shown: QuoteOnPage }) {
  const { progress, payouts } = shown;
  const ended = countEnded(shown);
  return (
    <section className="card facts" aria-label="Progress">
      <h2>
        {ended} of {payouts} finished
      </h2>
      <Bar value={payouts === 0 ? 0 : (100 * ended) / payouts} aria-label="Finished payouts" />
      <dl className="progress">
        {progress.map(({ status, currency, payouts: count, amount }) => (
          <div key={`${status} ${currency}`}>
            <dt>
              <StatusChip status={status} />
            </dt>
            <dd>
              {count} · <Amount value={amount} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

type Row = Offramp & { names: Names };

const COLUMNS: readonly Column<Row>[] = [
  { name: "Payee", cell: (row) => <Payee row={row} />, is_title: true },
  {
    name: "Amount",
    cell: (row) => <Amount value={row.destination_amount} currency={row.destination_currency} />,
    is_amount: true,
  },
  { name: "State", cell: (row) => <StatusChip status={row.status} /> },
  { name: "Reference", cell: (row) => row.reference || <span className="none">–</span> },
];

function PayoutsOfQuote({ quote_id }: { quote_id: string }) {
  return (
    <RecordTable
      label="Payouts of the quote, newest first"
      query_key={["payouts", "of quote", quote_id]}
      load={(starting_after) => loadPayouts(quote_id, starting_after)}
      columns={COLUMNS}
      pathOf={(row) => `/payouts/${row.id}`}
      empty={<Empty title="No payouts yet">Add the people who shall be paid.</Empty>}
    />
  );
}

async function loadPayouts(quote_id: string, starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.offramps.listAll({ quote_id, ...after, limit: 50 }).page();
  const names = await loadNames({
    payment_details: page.records.map((row) => row.payment_detail_id),
  });
  return { rows: page.records.map((row) => ({ ...row, names })), has_more: page.has_more };
}
