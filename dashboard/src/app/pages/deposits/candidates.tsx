import { Radio, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import type { Deposit } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { Failure, Loading } from "../../parts/states.tsx";

type Candidate = {
  onramp_id: string;
  person: string | null;
  account: string | null;
  amount: string;
  /** What the deposit is above it; negative where it is below. */
  difference: string;
  is_named: boolean;
  created_at: string;
};

const SEARCH_AFTER_MS = 250;

type CandidatesProps = {
  deposit: Deposit;
  value: string | null;
  onChange: (onramp_id: string) => void;
};

/** The onramps that a deposit may be for, the likeliest first, and a search for any other. */
export function Candidates({ deposit, value, onChange }: CandidatesProps) {
  const [text, setText] = useState("");
  const [search] = useDebouncedValue(text.trim(), SEARCH_AFTER_MS);
  const { data, error, refetch } = useQuery({
    queryKey: ["deposits", "candidates", deposit.id, search],
    queryFn: () => {
      const query = search ? { search } : {};
      return ask<{ candidates: Candidate[] }>(`/deposits/${deposit.id}/candidates`, query);
    },
  });
  return (
    <>
      <TextInput
        label="Find an onramp"
        description="By its deposit code or its id, if it is not listed below."
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading />}
      {data?.candidates.length === 0 && (
        <p className="calm" role="status">
          No unpaid onramp in {deposit.currency.toUpperCase()} {search ? "has this" : "is open"}.
        </p>
      )}
      {data && data.candidates.length > 0 && (
        <Choice candidates={data.candidates} {...{ deposit, value, onChange }} />
      )}
    </>
  );
}

function Choice(props: CandidatesProps & { candidates: readonly Candidate[] }) {
  const { candidates, deposit, value, onChange } = props;
  return (
    <Radio.Group label="What it pays for" value={value} onChange={onChange}>
      <div className="candidates">
        {candidates.map((candidate) => (
          <Radio.Card
            key={candidate.onramp_id}
            value={candidate.onramp_id}
            className="candidate"
            aria-label={`${candidate.person ?? "Erased"}, ${candidate.amount}`}
          >
            <Radio.Indicator />
            <Facts candidate={candidate} currency={deposit.currency} />
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  );
}

function Facts({ candidate, currency }: { candidate: Candidate; currency: string }) {
  const { person, account, amount, difference, is_named, created_at } = candidate;
  const isExact = Number(difference) === 0;
  return (
    <>
      <span className="candidate-who">
        <span className="strong">{person ?? "Erased"}</span>
        <span className="quiet">
          {account} · ordered <Moment at={created_at} />
          {is_named && " · its code is in the text"}
        </span>
      </span>
      <span className="candidate-amount">
        <Amount value={amount} currency={currency} />
        <span className={isExact ? "exact" : "differs"}>
          {isExact ? "exact" : `differs by ${signed(difference, currency)}`}
        </span>
      </span>
    </>
  );
}

function signed(difference: string, currency: string): string {
  const text = `${formatAmount(difference, currency)} ${currency.toUpperCase()}`;
  return text.startsWith("-") ? `−${text.slice(1)}` : `+${text}`;
}
