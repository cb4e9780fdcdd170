import type { ReactNode } from "react";
import { Icon, type IconName } from "./icons.tsx";

/** An important message; `is_urgent` interrupts screen readers. */
export function Notice(props: {
  kind: "alert" | "good" | "plain";
  icon?: IconName;
  title?: string;
  is_urgent?: boolean;
  children?: ReactNode;
}) {
  const { kind, icon, title, is_urgent, children } = props;
  return (
    <div className={`notice notice-${kind}`} role={is_urgent ? "alert" : undefined}>
      {icon && <Icon name={icon} />}
      <div>
        {title && <p className="notice-title">{title}</p>}
        {children}
      </div>
    </div>
  );
}
