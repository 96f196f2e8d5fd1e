import { createApp } from 'vue';
import Similarity from './Similarity.vue';

createApp(Similarity).mount('#root');
