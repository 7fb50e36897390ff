// Migrates in a process of its own, which the test kills half-way.
import { migrate } from '@dueline/db';

const [url = '', folder = ''] = process.argv.slice(2);
await migrate({ url, folder: new URL(folder) });
