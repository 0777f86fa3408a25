/** Control over a database server, to simulate accidents. Each method resolves when the change has happened. */
export interface DatabaseControl {
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after it was killed. */
  start(): Promise<void>;
  /** Stops it with SIGSTOP: connections stay open, and nothing responds. */
  pause(): Promise<void>;
  /** Continues it after a pause. */
  resume(): Promise<void>;
}
