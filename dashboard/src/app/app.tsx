import { type ComponentType, lazy, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { ConfirmIdentity } from "./parts/confirm-identity.tsx";
import { PageBoundary } from "./parts/page-boundary.tsx";
import { Shell } from "./parts/shell.tsx";
import { Empty, Loading } from "./parts/states.tsx";
import { may } from "./session.ts";

/** Each page is loaded when it is opened. */
const PAGES: readonly (readonly [path: string, page: ComponentType])[] = [
  ["/overview", lazy(() => import("./pages/overview/page.tsx"))],
  ["/payouts/batches/:id?", lazy(() => import("./pages/payouts/batches/page.tsx"))],
  ["/payouts/:id?", lazy(() => import("./pages/payouts/page.tsx"))],
  ["/documents/:id?", lazy(() => import("./pages/documents/page.tsx"))],
  ["/quotes/:id?", lazy(() => import("./pages/quotes/page.tsx"))],
  ["/deposits/:id?", lazy(() => import("./pages/deposits/page.tsx"))],
  ["/people/reviews/:account_id?/:user_id?", lazy(() => import("./pages/reviews/page.tsx"))],
  ["/bank-accounts/:action?", lazy(() => import("./pages/bank-accounts/page.tsx"))],
  ["/people/:id?", lazy(() => import("./pages/people/page.tsx"))],
  ["/approvals/:id?", lazy(() => import("./pages/approvals/page.tsx"))],
  ["/ledger", lazy(() => import("./pages/ledger/page.tsx"))],
  ["/settings/*?", lazy(() => import("./pages/settings/page.tsx"))],
  ["/invoices/:id?", lazy(() => import("./pages/invoices/page.tsx"))],
];

/** The first page of those whose role may see the records, and of the others. */
const HOME = may("see_records") ? "/overview" : "/settings";

export function App() {
  return (
    <Router base="/dashboard">
      <Shell>
        <Suspense fallback={<Loading />}>
          <PageBoundary>
            <Switch>
              {PAGES.map(([path, Page]) => (
                <Route key={path} path={path}>
                  <Page />
                </Route>
              ))}
              <Route path="/">
                <Redirect to={HOME} replace />
              </Route>
              <Route>
                <Empty title="This page does not exist">Choose one in the menu.</Empty>
              </Route>
            </Switch>
          </PageBoundary>
        </Suspense>
      </Shell>
      <ConfirmIdentity />
    </Router>
  );
}
