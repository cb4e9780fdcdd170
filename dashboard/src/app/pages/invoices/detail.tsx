import type { Invoice } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../../api.ts";
import { useNames } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { BackLink } from "../../parts/back-link.tsx";
import { Fact } from "../../parts/fact.tsx";
import { formatAmount, fromMinor } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { Copy, RecordId } from "../../parts/record-id.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { InvoiceActions } from "./actions.tsx";
import { daysLate, nameOfParty, otherParty, STATES, symbolOf } from "./invoice.ts";

/** One invoice: what is billed, how it is paid, what happened, and what can be done. */
export function InvoiceDetail({ id }: { id: string }) {
  const shown = useQuery({
    queryKey: ["invoices", "one", id],
    queryFn: () => api.invoices.show(id),
  });
  return (
    <>
      <BackLink name="Invoices" path="/invoices" />
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Shown invoice={shown.data} />}
    </>
  );
}

function Shown({ invoice }: { invoice: Invoice }) {
  return (
    <>
      <Head invoice={invoice} />
      <div className="detail">
        <div className="detail-side">
          <Facts invoice={invoice} />
        </div>
        <div className="stacked">
          <Items invoice={invoice} />
          <History invoice={invoice} />
        </div>
      </div>
    </>
  );
}

function Head({ invoice }: { invoice: Invoice }) {
  const { total, currency, status, invoiceNumber, role } = invoice;
  const symbol = symbolOf(currency);
  const late = daysLate(invoice);
  useEffect(() => {
    document.title = `Invoice ${invoiceNumber} · Sliproad`;
  }, [invoiceNumber]);
  return (
    <header className="card detail-head">
      <div className="detail-title">
        <h1>
          {formatAmount(fromMinor(total, symbol), symbol)}{" "}
          <span className="currency">{symbol.toUpperCase()}</span>
          <span className="detail-to">
            {invoiceNumber}, {role === "seller" ? "to" : "from"} {nameOfParty(otherParty(invoice))}
          </span>
        </h1>
        <StatusChip status={STATES[status].name} family={STATES[status].family} />
        {late !== null && (
          <p className="detail-why">
            Due {late} {late === 1 ? "day" : "days"} ago.
          </p>
        )}
      </div>
      <div className="detail-actions">
        <InvoiceActions invoice={invoice} />
      </div>
    </header>
  );
}

function Items({ invoice }: { invoice: Invoice }) {
  const symbol = symbolOf(invoice.currency);
  const tax = BigInt(invoice.total) - BigInt(invoice.totalWithoutTax);
  return (
    <section className="card facts" aria-label="Items">
      <h2>Items</h2>
      <div className="posting items-table">
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" className="right">
                Quantity
              </th>
              <th scope="col" className="right">
                Price
              </th>
            </tr>
          </thead>
          <tbody>
            {invoice.invoiceItems.map((item, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: items have no ids and do not move
              <tr key={at}>
                <td>
                  {item.name || "–"}
                  {item.tax && (
                    <span className="quiet">
                      {" "}
                      + {item.tax.type === "percentage" ? `${item.tax.amount} %` : "fixed"} tax
                    </span>
                  )}
                </td>
                <td className="right">{item.quantity}</td>
                <td className="right">
                  <Amount value={fromMinor(item.unitPrice, symbol)} currency={symbol} />
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <Sum name="Tax" minor={String(tax)} symbol={symbol} />
            <Sum name="Total" minor={invoice.total} symbol={symbol} />
          </tfoot>
        </table>
      </div>
      {invoice.note && <p>{invoice.note}</p>}
    </section>
  );
}

function Sum({ name, minor, symbol }: { name: string; minor: string; symbol: string }) {
  return (
    <tr>
      <td colSpan={2}>{name}</td>
      <td className="right">
        <Amount value={fromMinor(minor, symbol)} currency={symbol} />
      </td>
    </tr>
  );
}

const EVENTS: Readonly<Record<string, string>> = {
  create: "Issued",
  accept: "Accepted by the buyer",
  reject: "Rejected by the buyer",
  cancel: "Canceled",
  declareSentPayment: "The buyer says it is paid",
  declareReceivedPayment: "The seller says it is paid",
  paid: "Paid",
  markUnpaid: "Marked as not paid",
  changePaymentOptions: "Ways to pay changed",
  c2fPaymentFailed: "The payment failed",
  trackTransaction: "A transfer was seen on chain",
  withdrawTransfers: "A transfer shown here does not pay it",
  dropClaim: "The named transfer does not pay it",
};

function History({ invoice: { events, createdAt } }: { invoice: Invoice }) {
  const steps = [...events].reverse();
  return (
    <section className="card facts" aria-label="History">
      <h2>What happened</h2>
      <ol className="timeline">
        {steps.map(({ name, date, note }) => (
          <Step key={`${name} ${date}`} name={EVENTS[name] ?? name} at={date} note={note} />
        ))}
        <Step name="Created" at={createdAt} />
      </ol>
    </section>
  );
}

function Step({ name, at, note }: { name: string; at: string; note?: string | undefined }) {
  return (
    <li className="step">
      <div className="step-head">
        <span className="strong">{name}</span>
        <Moment at={at} />
      </div>
      {note && <div className="step-why">{note}</div>}
    </li>
  );
}

function Facts({ invoice }: { invoice: Invoice }) {
  const { paymentTerms, purchaseOrderId, invoiceLinks } = invoice;
  const other = otherParty(invoice);
  return (
    <section className="card facts" aria-label="Details">
      <h2>{invoice.role === "seller" ? "Buyer" : "Seller"}</h2>
      <div className="strong">{nameOfParty(other)}</div>
      {other.email && other.email !== nameOfParty(other) && <div>{other.email}</div>}
      <h2>Ways to pay</h2>
      <dl>
        {invoice.paymentOptions.map((option) => (
          <PaymentWay key={JSON.stringify(option)} option={option} />
        ))}
      </dl>
      <h2>Terms</h2>
      <dl>
        {paymentTerms?.dueDate && (
          <Fact name="Due">
            <Moment at={paymentTerms.dueDate} />
          </Fact>
        )}
        {purchaseOrderId && <Fact name="Order">{purchaseOrderId}</Fact>}
        <Fact name="Created">
          <Moment at={invoice.creationDate} />
        </Fact>
        {invoiceLinks && (
          <Fact name="Page to pay">
            <span className="copied">
              <a href={invoiceLinks.pay} target="_blank" rel="noreferrer">
                Open
              </a>
              <Copy text={invoiceLinks.pay} label="Copy the link" />
            </span>
          </Fact>
        )}
        <Fact name="Id">
          <RecordId id={invoice.id} />
        </Fact>
      </dl>
    </section>
  );
}

function PaymentWay({ option }: { option: Invoice["paymentOptions"][number] }) {
  const { currencies, paymentInformation } = option.value;
  const { paymentDetailId: detail_id } = paymentInformation as { paymentDetailId?: string };
  const detail = useNames({ payment_details: detail_id ? [detail_id] : [] }).payment_details[
    detail_id ?? ""
  ];
  const shown = Object.entries(paymentInformation).filter(([, value]) => value);
  return (
    <>
      <Fact name={option.type === "wallet" ? "Wallet" : "Bank account"}>
        {currencies.join(", ")}
      </Fact>
      {shown.map(([name, value]) => (
        <Fact key={name} name={WAY_FIELDS[name] ?? name}>
          {name === "paymentDetailId" && detail
            ? `${detail.holder}, ${detail.bank} ··${detail.account}`
            : value}
        </Fact>
      ))}
    </>
  );
}

const WAY_FIELDS: Readonly<Record<string, string>> = {
  paymentAddress: "Address",
  chain: "Chain",
  paymentDetailId: "Bank account",
  accountName: "Holder",
  bankName: "Bank",
  iban: "IBAN",
  swiftBic: "BIC",
  accountNumber: "Account number",
  routingNumber: "Routing number",
  sortCode: "Sort code",
};
