# npx esbuild worker.ts --bundle --format=esm --conditions=workerd,worker,browser --outfile=dist/worker.mjs
# npx workerd serve worker.capnp
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "dist/worker.mjs")],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["no_nodejs_compat", "no_nodejs_compat_v2"],
  bindings = [
    (name = "ISSUER", text = "http://127.0.0.1:8787"),
    (name = "GRANTD_SECRET", fromEnvironment = "GRANTD_SECRET"),
  ],
);
