import { Anchor, Title } from "@mantine/core";
import type { Balance, User } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { BackLink } from "../../parts/back-link.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { may, session } from "../../session.ts";
import { BankAccounts } from "./bank-accounts.tsx";
import { IdentityChip } from "./identity-chip.tsx";
import { nameOfPerson } from "./name-of-person.ts";
import { Refunds } from "./refunds.tsx";

/** One person or business: who they are, what is owed to them, and where they are paid. */
export function PersonDetail({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["person", id],
    queryFn: () => api.users.show(id),
  });
  const balances = useQuery({
    queryKey: ["person", id, "balances"],
    queryFn: async () => (await api.balances.list(id)).filter(({ amount }) => amount > 0),
  });
  if (error && !data) {
    return (
      <>
        <BackLink name="People" path="/people" />
        <PageHead title="Person" />
        <Failure error={error} onRetry={refetch} />
      </>
    );
  }
  if (!data) return <Loading />;
  return (
    <>
      <BackLink name="People" path="/people" />
      <PageHead title={nameOfPerson(data)}>
        <IdentityChip status={data.kyc.general.status} />
      </PageHead>
      <div className="halves">
        <Facts title="Identity" rows={identityOf(data)} />
        <div className="stacked">
          <Facts title="Checks" rows={checksOf(data)} />
          {balances.error && !balances.data ? (
            <Failure error={balances.error} onRetry={balances.refetch} />
          ) : (
            <Facts title="Owed" rows={owedTo(balances.data)} />
          )}
        </div>
      </div>
      <p className="row-links">
        <Anchor component={Link} href={`/payouts?user_id=${id}`}>
          Payouts of {nameOfPerson(data)}
        </Anchor>
        {may("review_kyc") && (
          <Anchor component={Link} href={`/people/reviews/${session.account.id}/${id}`}>
            Identity review
          </Anchor>
        )}
      </p>
      <BankAccounts user_id={id} />
      <Refunds user_id={id} balances={balances.data ?? []} />
    </>
  );
}

type Fact = readonly [name: string, value: ReactNode];

function Facts({ title, rows }: { title: string; rows: readonly Fact[] }) {
  return (
    <section className="card sums">
      <div className="sums-head">
        <Title order={2} size="h5">
          {title}
        </Title>
      </div>
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function owedTo(balances: readonly Balance[] | undefined): Fact[] {
  const rows = (balances ?? []).map(({ currency, chain, amount }): Fact => {
    const name = `On ${chainName(chain)}`;
    return [name, <Amount key={`${currency} ${chain}`} value={amount} currency={currency} />];
  });
  return balances && rows.length === 0 ? [["Nothing", "–"]] : rows;
}

/** Only what is known. */
function identityOf(user: User): Fact[] {
  const address = [
    ...[user.address_line1, user.address_line2, user.city, user.state],
    ...[user.postcode, user.country],
  ];
  const all: Fact[] = [
    ["E-mail", user.email],
    ["Company", user.company_name],
    ["First name", user.first_name],
    ["Last name", user.last_name],
    ["Date of birth", user.date_of_birth],
    ["Nationality", user.nationality],
    ["Address", address.filter(Boolean).join(", ")],
    ["Phone", user.phone],
    ["Source of funds", user.source_of_funds],
    ["Business", user.business_activity],
    ["Registered", <Moment key="registered" at={user.created_at} />],
  ];
  return all.filter(([, value]) => value);
}

function checksOf({ kyc }: User): Fact[] {
  const chips: (readonly [string, string])[] = [
    ["In general", kyc.general.status],
    ["US dollars", kyc.usd.status],
    ["US dollars by SWIFT", kyc.usd.swift_status],
    ["Euros", kyc.eur.status],
    ["Euros by SWIFT", kyc.eur.swift_status],
  ];
  const { moderation_comment } = kyc.general;
  return [
    ...chips.map(([name, status]): Fact => [name, <IdentityChip key={name} status={status} />]),
    ...(moderation_comment ? [["The person reads", moderation_comment] as const] : []),
  ];
}
