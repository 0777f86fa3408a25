import { resourceFromAttributes } from '@opentelemetry/resources';
import packageJson from '../../package.json' with { type: 'json' };

/** What every metric and trace of this program is about. Loaded with OpenTelemetry. */
export const RESOURCE = resourceFromAttributes({
  'service.name': process.env.OTEL_SERVICE_NAME || 'grantd',
  'service.version': packageJson.version,
  'process.runtime.version': process.versions.node,
});
