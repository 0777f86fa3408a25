/** Whether an issuer holds demo data, whose passwords everyone knows. Rejects with a `StorageFault`. */
export interface DemoMark {
  isSet(): Promise<boolean>;
  set(): Promise<void>;
}
