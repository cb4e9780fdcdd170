import { type ComponentType, lazy, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { ConfirmIdentity } from "./parts/confirm-identity.tsx";
import { PageBoundary } from "./parts/page-boundary.tsx";
import { Shell } from "./parts/shell.tsx";
import { Loading, NoSuchPage } from "./parts/states.tsx";
import { PATHS, type PageName } from "./paths.ts";
import { may } from "./session.ts";

/** Each page is loaded when it is opened. */
const PAGES: Readonly<Record<PageName, ComponentType>> = {
  overview: lazy(() => import("./pages/overview/page.tsx")),
  batches: lazy(() => import("./pages/payouts/batches/page.tsx")),
  payouts: lazy(() => import("./pages/payouts/page.tsx")),
  documents: lazy(() => import("./pages/documents/page.tsx")),
  quotes: lazy(() => import("./pages/quotes/page.tsx")),
  deposits: lazy(() => import("./pages/deposits/page.tsx")),
  reviews: lazy(() => import("./pages/reviews/page.tsx")),
  bank_accounts: lazy(() => import("./pages/bank-accounts/page.tsx")),
  people: lazy(() => import("./pages/people/page.tsx")),
  approvals: lazy(() => import("./pages/approvals/page.tsx")),
  ledger: lazy(() => import("./pages/ledger/page.tsx")),
  settings: lazy(() => import("./pages/settings/page.tsx")),
  invoices: lazy(() => import("./pages/invoices/page.tsx")),
};

/** The first page of those whose role may see the records, and of the others. */
const HOME = may("see_records") ? "/overview" : "/settings";

export function App() {
  return (
    <Router base="/dashboard">
      <Shell>
        <Suspense fallback={<Loading />}>
          <PageBoundary>
            <Switch>
              {Object.entries(PATHS).map(([name, path]) => (
                <Route key={path} path={path} component={PAGES[name as PageName]} />
              ))}
              <Route path="/">
                <Redirect to={HOME} replace />
              </Route>
              <Route>
                <NoSuchPage name="To the first page" path={HOME} />
              </Route>
            </Switch>
          </PageBoundary>
        </Suspense>
      </Shell>
      <ConfirmIdentity />
    </Router>
  );
}
