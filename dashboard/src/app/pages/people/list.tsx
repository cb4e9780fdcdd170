import { Button } from "@mantine/core";
import type { User } from "@sliproad/sdk";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { useFilters } from "../../parts/filters.ts";
import { ChoiceFilter, ListFilters } from "../../parts/list-filters.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { may } from "../../session.ts";
import {
  IDENTITY_STATES,
  IdentityChip,
  type IdentityStatus,
  identityName,
} from "./identity-chip.tsx";
import { nameOfPerson } from "./name-of-person.ts";

const COLUMNS: readonly Column<User>[] = [
  {
    name: "Name",
    cell: (row) => <span className="strong">{nameOfPerson(row)}</span>,
    is_title: true,
  },
  { name: "E-mail", cell: (row) => <span className="breakable">{row.email}</span> },
  {
    name: "Kind",
    cell: (row) => (row.beneficiary_type === "business" ? "Business" : "Person"),
  },
  { name: "Identity", cell: (row) => <IdentityChip status={row.kyc.general.status} /> },
  { name: "Created", cell: (row) => <Moment at={row.created_at} /> },
];

/** Everybody who pays or is paid through this account. */
export function PeopleList() {
  const { filters, setFilter, clearFilters } = useFilters();
  const status = IDENTITY_STATES.find((known) => known === filters.status);
  const query = status ? { status } : {};
  return (
    <>
      <PageHead title="People">
        {may("review_kyc") && (
          <Button component={Link} href="/people/reviews" variant="default" size="compact-md">
            Identity reviews
          </Button>
        )}
      </PageHead>
      <ListFilters>
        <ChoiceFilter
          {...{ filters, setFilter }}
          name="status"
          label="Identity"
          options={IDENTITY_STATES.map((state) => [state, identityName(state)])}
        />
      </ListFilters>
      <RecordTable
        label="People, newest first"
        query_key={["people", query]}
        load={(starting_after) => loadPeople(query, starting_after)}
        columns={COLUMNS}
        pathOf={(row) => `/people/${row.id}`}
        empty={
          status ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="Nobody yet">
              Somebody appears here as soon as your program registers them.
            </Empty>
          )
        }
      />
    </>
  );
}

async function loadPeople(query: { status?: IdentityStatus }, starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.users.list({ ...query, ...after, limit: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}
