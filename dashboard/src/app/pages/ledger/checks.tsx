import { Button, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask, tell } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { DownloadAll } from "../../parts/download-records.tsx";
import { ProblemAlert } from "../../parts/form-dialog.tsx";
import { Moment } from "../../parts/moment.tsx";
import { LOOK_EVERY_MS } from "../../parts/record-table.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";

const RUNNING_LOOK_MS = 1_000;

type Books = {
  verification: {
    at: string;
    accounts: number;
    fault: string | null;
    has_anchors: boolean;
    took_ms: number;
    is_proven: boolean;
  } | null;
  /** A check that was started here and has not ended. */
  running: {
    requested_at: string;
    accounts_done: number;
    accounts: number;
    pages: number;
    updated_at: string;
  } | null;
  banks: {
    bank_account: string;
    currency: string;
    closed_on: string;
    books: string;
    difference: string;
    is_tampered: boolean;
    at: string;
  }[];
  chains: {
    chain: string;
    currency: string;
    block_number: number;
    difference: string;
    at: string;
  }[];
};

/** What the last checks of the whole installation found. */
export function Checks() {
  const { data, error, refetch } = useQuery({
    queryKey: ["ledger", "checks"],
    queryFn: () => ask<Books>("/books"),
    refetchInterval: ({ state }) => (state.data?.running ? RUNNING_LOOK_MS : LOOK_EVERY_MS),
  });
  if (!data) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  return (
    <div className="stacked">
      {error && <Failure error={error} onRetry={refetch} is_update />}
      <Card title="Logs and records">
        <Verified verification={data.verification} />
        <VerifyNow running={data.running} onStarted={refetch} />
      </Card>
      <Compared
        title="Banks"
        command="sliproad reconcile"
        rows={data.banks.map((bank) => ({
          ...bank,
          name: `${bank.bank_account} · ${bank.currency.toUpperCase()}`,
          until: `statement of ${bank.closed_on}`,
          is_wrong: bank.is_tampered,
        }))}
      />
      <Compared
        title="Chains"
        command="sliproad reconcile --chain <chain>"
        rows={data.chains.map((chain) => ({
          ...chain,
          name: `${chainName(chain.chain)} · ${chain.currency.toUpperCase()}`,
          until: `block ${chain.block_number}`,
          is_wrong: false,
        }))}
      />
    </div>
  );
}

function Verified({ verification }: Pick<Books, "verification">) {
  if (!verification) return <p>All logs, records and sums were not recomputed yet.</p>;
  const { at, accounts, fault, has_anchors, took_ms, is_proven } = verification;
  const is_good = fault === null && is_proven;
  return (
    <>
      <StatusChip
        status={is_good ? "no_problems_found" : "needs_a_look"}
        family={is_good ? "done" : "failed"}
      />
      <p className="detail-why">
        {is_proven ? (fault ?? sayClean(accounts, has_anchors)) : UNPROVEN}
      </p>
      <p className="quiet">
        Checked <Moment at={at} />, in {Math.max(1, Math.round(took_ms / 1000))} s.
      </p>
    </>
  );
}

/** Starts a check in the background, and says how far it is. */
function VerifyNow(props: { running: Books["running"]; onStarted: () => unknown }) {
  const { running, onStarted } = props;
  const start = useMutation({
    mutationFn: () => tell("/books/verification", {}),
    onSettled: onStarted,
  });
  if (running) {
    const { accounts, accounts_done, pages, requested_at, updated_at } = running;
    return (
      <div role="status">
        <p>
          A check runs since <Moment at={requested_at} />:{" "}
          {accounts === 0
            ? "it waits for its turn."
            : `${accounts_done} of ${accounts} accounts, ${pages} pages read.`}
        </p>
        <progress aria-label="Accounts checked" value={accounts_done} max={Math.max(accounts, 1)} />
        <p className="quiet">
          Its last step was <Moment at={updated_at} />. You can leave this page.
        </p>
      </div>
    );
  }
  return (
    <>
      {may("create_exports") && (
        <Button variant="default" loading={start.isPending} onClick={() => start.mutate()}>
          Verify now
        </Button>
      )}
      <ProblemAlert error={start.error} />
      <p className="quiet">
        It reads everything once, in the background. <code>sliproad verify --anchor</code> also
        compares the log file of the service; run it once a day.
      </p>
    </>
  );
}

const UNPROVEN = "This result was not written by Sliproad: somebody changed the database.";

function sayClean(accounts: number, has_anchors: boolean): string {
  const of = `${accounts} ${accounts === 1 ? "account" : "accounts"}`;
  const anchors = has_anchors ? ", and compared with the log file" : "";
  return `Every log, record and sum of ${of} was recomputed${anchors}.`;
}

type Row = {
  name: string;
  currency: string;
  until: string;
  difference: string;
  is_wrong: boolean;
  at: string;
};

function Compared(props: { title: string; command: string; rows: readonly Row[] }) {
  const { title, command, rows } = props;
  return (
    <Card title={title}>
      <DownloadAll label={`Reconciliation of ${title}`} rows={rows} />
      {rows.length === 0 && <NotYet command={command} what="The books are compared by" />}
      {rows.length > 0 && (
        <div className="posting items-table">
          <table>
            <thead>
              <tr>
                <th scope="col">Account</th>
                <th scope="col">Compared</th>
                <th scope="col" className="right">
                  Difference
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.name}>
                  <td className="word">{row.name}</td>
                  <td>
                    {row.until}, <Moment at={row.at} />
                    {row.is_wrong && <div className="differs">A stored statement was changed</div>}
                  </td>
                  <td className="right">
                    {Number(row.difference) === 0 ? (
                      <StatusChip status="none" family="done" />
                    ) : (
                      <Amount value={row.difference} currency={row.currency} />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function NotYet({ what, command }: { what: string; command: string }) {
  return (
    <p>
      {what} <code>{command}</code>. Its last result appears here; run it once a day.
    </p>
  );
}

function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card facts">
      <Title order={2} size="h5">
        {title}
      </Title>
      {children}
    </section>
  );
}
