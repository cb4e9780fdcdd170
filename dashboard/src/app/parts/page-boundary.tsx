import { Component, type ReactNode } from "react";
import { Failure } from "./states.tsx";

type State = { error: unknown };

/** Shows what went wrong in place of a page that cannot be drawn. */
export class PageBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    // After an update the files of the old version are gone.
    if (isLostChunk(error)) reloadOnce();
    return <Failure error={error} onRetry={() => this.setState({ error: null })} />;
  }
}

function isLostChunk(error: unknown): boolean {
  return error instanceof TypeError && /dynamically imported module/i.test(error.message);
}

function reloadOnce(): void {
  if (sessionStorage.getItem("reloaded") === location.href) return;
  sessionStorage.setItem("reloaded", location.href);
  location.reload();
}
