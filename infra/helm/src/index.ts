export { chartPages } from './pages.ts';
